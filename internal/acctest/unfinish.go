package acctest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// EndedRun is the word of a run on another computer, as a mark has it that was killed there: see owner.Run.
const EndedRun = "ffffffff.1.1.1"

// Unfinish has the marks in all of a machine's files below some directories say what they say after a run was killed that had written
// them and had not come to the end of its create.
func Unfinish(t *testing.T, machine string, directories ...string) {
	t.Helper()
	On(t, machine, append([]string{"sh", "-c", `run=$1; shift
grep -rlE 'owner=[a-z0-9]+ workspace=[0-9a-f]+' "$@" | xargs sed -i "s/\(owner=[a-z0-9]* workspace=[0-9a-f]*\)/\1 creating=$run/"`, "sh", EndedRun}, directories...)...)
}

var markedXML = regexp.MustCompile(`(owner=['"][a-z0-9]+['"] workspace=['"][0-9a-f]+['"])`)

// UnfinishNetwork does so with the marks of a network and of its reservations.
func UnfinishNetwork(t *testing.T, name string) {
	t.Helper()
	redefineThing(t, "net", markedXML.ReplaceAllString(Virsh(t, "net-dumpxml", name, "--inactive"), `$1 creating="`+EndedRun+`"`))
}

var markedWords = regexp.MustCompile(`(owner=[a-z0-9]+ workspace=[0-9a-f]+)`)

// UnfinishPool does so with the mark of a storage pool.
func UnfinishPool(t *testing.T, name string) {
	t.Helper()
	redefineThing(t, "pool", markedWords.ReplaceAllString(Virsh(t, "pool-dumpxml", name, "--inactive"), `$1 creating=`+EndedRun))
}

// redefineThing has virsh define a kind of things anew from its XML.
func redefineThing(t *testing.T, kind, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), kind+".xml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	Virsh(t, kind+"-define", file)
}

package keepalived

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// modeBefore returns the permissions that the file had before the provider wrote to it; 0 where it made the file.
func modeBefore(t transaction.Tree) fs.FileMode {
	for line := range strings.Lines(string(t[releasePath].Content)) {
		if text, ok := strings.CutPrefix(line, modeMark); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 32)
			if err == nil {
				return fs.FileMode(n)
			}
		}
	}
	f, there := t[Path]
	if _, ours := t[releasePath]; ours || !there {
		return 0
	}
	return f.Perm()
}

// secureMode takes the file from the eyes of others while an instance of the provider's is in it, whose password it may hold,
// and gives it back the permissions from before with the last one.
func secureMode(t transaction.Tree, before fs.FileMode) {
	f, there := t[Path]
	if !there {
		return
	}
	if _, ours := t[releasePath]; ours {
		f.Mode &= mode
	} else if before != 0 {
		f.Mode = before
	}
	t[Path] = f
}

package provider

import (
	"cmp"
	"os"
	"strings"
)

// quietFramework keeps the plugin framework from sending traces that nobody reads. It sends all it has unless told
// otherwise, and Terraform drops what is below TF_LOG_PROVIDER or TF_LOG; but every line has been made, sent and read
// by then, and each trace of an element in a map attribute walks a context that is one level deeper than the one
// before: a zone of 5,000 records costs ten seconds in every command. TF_LOG_SDK and TF_LOG_SDK_FRAMEWORK still count
// where they are set.
func quietFramework() {
	level := cmp.Or(os.Getenv("TF_LOG_PROVIDER"), os.Getenv("TF_LOG"), "WARN")
	if strings.EqualFold(level, "JSON") || os.Getenv("TF_LOG_SDK") != "" {
		return // JSON is everything, in another form
	}
	_ = os.Setenv("TF_LOG_SDK", level)
}

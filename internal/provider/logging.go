package provider

import "os"

// quietFramework keeps the plugin framework from tracing every element of a map attribute while nobody reads the log:
// each trace walks a context that is one level deeper than the one before, so that a zone of 5,000 records costs
// ten seconds in every command. Whoever sets TF_LOG, TF_LOG_PROVIDER or TF_LOG_SDK_FRAMEWORK gets the traces.
func quietFramework() {
	for _, name := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK_FRAMEWORK"} {
		if os.Getenv(name) != "" {
			return
		}
	}
	_ = os.Setenv("TF_LOG_SDK_FRAMEWORK", "WARN")
}

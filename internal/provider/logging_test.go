package provider

import (
	"os"
	"testing"
)

func TestTheFrameworkSendsNoMoreThanIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nobody reads":            {nil, "WARN"},
		"some of it":              {map[string]string{"TF_LOG": "info"}, "info"},
		"the provider's own":      {map[string]string{"TF_LOG": "ERROR", "TF_LOG_PROVIDER": "DEBUG"}, "DEBUG"},
		"all":                     {map[string]string{"TF_LOG": "JSON"}, ""},
		"what is asked for stays": {map[string]string{"TF_LOG_PROVIDER": "DEBUG", "TF_LOG_SDK": "TRACE"}, "TRACE"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK"} {
				t.Setenv(v, c.env[v])
			}
			quietFramework()
			if got := os.Getenv("TF_LOG_SDK"); got != c.want {
				t.Errorf("TF_LOG_SDK is %q, want %q", got, c.want)
			}
		})
	}
}

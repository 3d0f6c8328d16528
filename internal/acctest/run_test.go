package acctest

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestCommandThatHangsIsEndedWithWhatItStarted(t *testing.T) {
	began := time.Now()
	// The shell waits for a child that holds the output.
	out, err := runWithin(context.Background(), 100*time.Millisecond, "sh", "-c", "echo begun; sleep 60; echo over")
	if err == nil || !strings.Contains(err.Error(), "longer than 100ms") || out != "begun" {
		t.Errorf("%q, %v", out, err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
}

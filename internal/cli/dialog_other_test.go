//go:build unix && !linux

package cli

import "github.com/rogpeppe/go-internal/testscript"

// cmdDialog needs a terminal, which each system makes in its own way.
func cmdDialog(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("a dialog is for Linux: begin the story with [!linux] skip")
}

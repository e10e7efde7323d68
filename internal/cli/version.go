package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is what "version --json" prints.
type release struct {
	// Version is the module's version, "(devel)" for one that was built from a checkout.
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	// Revision and Time are those of the commit; empty when the release does not know them.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	// Modified is true when the checkout had changes.
	Modified bool `json:"modified,omitempty"`
}

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version [--json]",
		Short: "Print the version and how it was built",
		Example: `  weir version
  weir version --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			b := readRelease()
			if asJSON {
				return a.emitJSON(b)
			}
			return a.emit([]byte(b.String() + "\n"))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: version, go, os, arch, revision, time, modified")
	return cmd
}

func readRelease() release {
	b := release{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the release in one line.
func (b release) String() string {
	parts := []string{"weir " + b.Version, b.Go, b.OS + "/" + b.Arch}
	if b.Revision != "" {
		commit := "commit " + b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			commit += " with changes"
		}
		parts = append(parts, commit)
	}
	if b.Time != "" {
		parts = append(parts, fmt.Sprintf("of %s", b.Time))
	}
	return strings.Join(parts, " ")
}

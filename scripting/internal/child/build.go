package child

import (
	"fmt"
	"os"
	"runtime/debug"
)

// module is this module's path.
const module = "github.com/weir-run/weir"

// devel is the version of a module that was built from a folder.
const devel = "(devel)"

// Build says what a program is made of, so that two are not taken for one.
type Build struct {
	// Weir is the version of this module in it, Build the whole program: its module, its revision, its
	// compiler, and the size and time of its file.
	Weir, Build string
}

// Self describes the running program.
func Self() Build {
	b := Build{Weir: devel, Build: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Build = fmt.Sprint(info.GoVersion, " ", info.Path, " ", info.Main.Version, " ", info.Main.Sum)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" || s.Key == "-race" {
				b.Build += " " + s.Key + "=" + s.Value
			}
		}
		b.Weir = weir(info)
	}
	if path, err := self(); err == nil {
		if file, err := os.Stat(path); err == nil {
			b.Build += fmt.Sprint(" ", file.Size(), " ", file.ModTime().UnixNano())
		}
	}
	return b
}

// weir is the version of this module in a program.
func weir(info *debug.BuildInfo) string {
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path != module {
			continue
		}
		if d.Replace != nil {
			return devel // another folder stands in for it
		}
		return d.Version
	}
	return devel
}

// fits reports why another program cannot run this one's scripts; nil when it can. A program of another
// build fits when its version of this module is the same or one of the two was built from a folder.
func (b Build) fits(other Build, same bool) error {
	switch {
	case same && b.Build != other.Build:
		return fmt.Errorf("the program's file was replaced while it runs (%s is not %s): restart it", other.Build, b.Build)
	case !same && b.Weir != other.Weir && !unreleased(b.Weir) && !unreleased(other.Weir):
		return fmt.Errorf("it holds %s %s, this program %s: use one version for both", module, other.Weir, b.Weir)
	}
	return nil
}

func unreleased(version string) bool { return version == devel || version == "" }

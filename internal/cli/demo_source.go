package cli

import (
	"context"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// sourceFolder is the folder that the demo works on, absolute and without symbolic links: the one that was
// named, or the sources of the Go installation.
func sourceFolder(ctx context.Context, named string) (string, error) {
	if named == "" {
		for _, root := range []func(context.Context) string{fromEnvironment, fromBuild, fromGo} {
			if dir := root(ctx); dir != "" && isFolder(filepath.Join(dir, "src")) {
				return filepath.EvalSymlinks(filepath.Join(dir, "src"))
			}
		}
		return "", misuse("there is no Go installation whose sources the demo could work on: name any folder with --on DIR")
	}
	abs, err := filepath.Abs(named)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	switch {
	case err != nil:
		return "", misuse("--on %s: %s: name a folder that is there", named, reasonOf(err))
	case !isFolder(abs):
		return "", misuse("--on %s: that is a file: name a folder", named)
	}
	return abs, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// The three places where the Go installation is named.

func fromEnvironment(context.Context) string { return os.Getenv("GOROOT") }

func fromBuild(context.Context) string { return build.Default.GOROOT }

func fromGo(ctx context.Context) string {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// program is how this program was called, so that a command that is printed can be pasted.
func program() string {
	exe, err := os.Executable()
	if err == nil && byGoRun(exe) {
		if _, err := os.Stat(filepath.Join("cmd", "weir", "main.go")); err == nil {
			return "go run ./cmd/weir"
		}
		return "go run github.com/weir-run/weir/cmd/weir"
	}
	if called := os.Args[0]; strings.ContainsRune(called, filepath.Separator) {
		return quoted(called)
	}
	return "weir"
}

// byGoRun says whether a program was built by go run: it lies in a folder of the build, or in the build
// cache under a hash.
func byGoRun(exe string) bool {
	const hash, mark = 64, "-d"
	dir := filepath.Base(filepath.Dir(exe))
	if hex, ok := strings.CutSuffix(dir, mark); ok && len(hex) == hash && strings.Trim(hex, "0123456789abcdef") == "" {
		return true
	}
	return dir == "exe" && strings.Contains(filepath.ToSlash(exe), "/go-build")
}

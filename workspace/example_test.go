package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-run/weir/workspace"
)

// A folder becomes a mount; pages are what a model reads, Search is for programs.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	text := "module example.com/m\n\ngo 1.26\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	w, err := workspace.New(workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()

	ctx := context.Background()
	page, err := w.Read(ctx, workspace.ReadRequest{Path: "project/go.mod", Limit: 1})
	fmt.Print(page.Text)
	if err != nil {
		fmt.Println(err)
	}
	found, err := w.Search(ctx, workspace.GrepRequest{Pattern: `^go \d`}, func(m workspace.Match) error {
		fmt.Printf("%s:%d:%s\n", m.Path, m.Line, m.Text)
		return nil
	})
	fmt.Println(found.Matches, found.Files, err)
	// Output:
	// project/go.mod: lines 1–1 of 3
	// next: workspace--read {"path":"project/go.mod","offset":2,"limit":1}
	// 1	module example.com/m
	// project/go.mod:3:go 1.26
	// 1 1 <nil>
}

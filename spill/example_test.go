package spill_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weir-run/weir/spill"
)

// A tool's output goes to a spool. What is over the cap is kept whole as a file; the model gets both ends
// of it and the way to the rest.
func Example() {
	folder, err := os.MkdirTemp("", "spill")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	dir, err := spill.NewDir(folder, spill.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	name := spill.Name{Conversation: "c1", Result: "r3-1", Tool: "build", Fence: 1}
	spool := spill.NewSpool(1000, func(ext string) (spill.Writer, error) {
		name.Ext = ext
		return dir.Create(context.Background(), name)
	})
	for i := range 5000 {
		_, _ = fmt.Fprintf(spool, "compiled package number %d of this very large project\n", i+1)
	}
	kept := spool.Finish("exit status 1\n")

	notice := spill.Notice{Reason: spill.Reason(kept.Err), Read: "workspace--read", Grep: "workspace--grep"}
	if kept.Ref != nil {
		notice.Path = kept.Ref.Path()
	}
	fmt.Print(spill.Preview(kept.Excerpt, 1000, notice))
	// Output:
	// compiled package number 1 of this very large project
	// compiled package number 2 of this very large project
	// compiled package number 3 of this very large project
	// compiled package number 4 of this very large project
	// compiled package number 5 of this very large project
	// compiled package number 6 of this very large project
	// [Excerpt: lines 7-4996 of 5001 are left out here, 278351 of 278907 characters from char_offset 318.
	// The whole is kept at tool-results/r3-1-build.txt: 5001 lines, 278907 characters, 278907 bytes.
	// Read on: workspace--read {"path":"tool-results/r3-1-build.txt","offset":7}
	// Search: workspace--grep {"path":"tool-results/r3-1-build.txt","pattern":"…"}]
	// compiled package number 4997 of this very large project
	// compiled package number 4998 of this very large project
	// compiled package number 4999 of this very large project
	// compiled package number 5000 of this very large project
	// exit status 1
}

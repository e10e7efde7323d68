// Command weir runs agents, and reads, searches and proves what they stored.
package main

import (
	"os"

	"github.com/weir-run/weir/internal/cli"
	"github.com/weir-run/weir/scripting"
)

func main() {
	scripting.Main() // this program may have been started to run a script
	os.Exit(cli.Main())
}

//go:build !race

package scripting_test

import (
	"os"
	"time"
)

// raced says that nothing limits the memory of scripts here.
const raced = false

// slack is what a script may take over its time limit. WEIR_STRICT holds it to what is promised, for a
// machine that does nothing else.
var slack = func() time.Duration {
	if os.Getenv("WEIR_STRICT") != "" {
		return 500 * time.Millisecond
	}
	return 5 * time.Second
}()

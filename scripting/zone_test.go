package scripting_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-run/weir/scripting"
)

// zoneFile is a file of the time zone database (RFC 9636) with one offset from UTC, in seconds.
func zoneFile(t *testing.T, offset int32) string {
	t.Helper()
	file := append([]byte("TZif\x00"), make([]byte, 15)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one type of time, with a name of four bytes
		file = binary.BigEndian.AppendUint32(file, count)
	}
	file = binary.BigEndian.AppendUint32(file, uint32(offset))
	file = append(file, 0, 0, 'O', 'D', 'D', 0)
	path := filepath.Join(t.TempDir(), "odd")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The local time of a script is UTC, wherever the machine is.
func TestLaw09LocalTimeIsUTC(t *testing.T) {
	t.Parallel()
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip("there is no env to start a program in another time zone with")
	}
	s, err := scripting.New(scripting.Config{Command: []string{env, "TZ=:" + zoneFile(t, 5*3600+1800), os.Args[0]}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, isError := run(t, s, nil, `const d = new Date(0); return [d.getHours(), d.getTimezoneOffset(), d.getTime() === new Date("1970-01-01T00:00:00").getTime(), new Date(2030, 0, 2, 3).toISOString(), d.toString()].join(", ")`)
	if want := "0, 0, true, 2030-01-02T03:00:00.000Z, Thu Jan 01 1970 00:00:00 GMT+0000 (UTC)"; got != want || isError {
		t.Errorf("got %q (error %v), want %q", got, isError, want)
	}
}

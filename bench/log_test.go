package bench

import (
	"encoding/binary"
	"os"
	"testing"
)

// logged is what stands in a write-ahead log.
type logged struct {
	commits, pages int
	// salts tell the log from one that was begun anew in the same file.
	salts [8]byte
}

// readLog counts the frames in a write-ahead log, and among them those that end a transaction.
// Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
func readLog(b *testing.B, database string) (l logged) {
	b.Helper()
	log, err := os.ReadFile(database + "-wal")
	if err != nil || len(log) < 32 {
		b.Fatalf("read the write-ahead log: %d bytes, %v", len(log), err)
	}
	size := int(binary.BigEndian.Uint32(log[8:])) + 24
	l.salts = [8]byte(log[16:24])
	for at := 32; at+size <= len(log) && [8]byte(log[at+8:at+16]) == l.salts; at += size {
		l.pages++
		if binary.BigEndian.Uint32(log[at+4:]) > 0 {
			l.commits++
		}
	}
	return l
}

// reportLog does work of so many rounds and reports how many transactions and pages one round took.
func reportLog(b *testing.B, who, database string, rounds int, do func() error) {
	b.Helper()
	work := func() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
	for range 100 {
		work()
		before := readLog(b, database)
		work()
		after := readLog(b, database)
		if after.salts != before.salts || after.commits == before.commits {
			continue // the log was begun anew in between
		}
		b.ReportMetric(float64(after.commits-before.commits)/float64(rounds), who+"-commits")
		b.ReportMetric(float64(after.pages-before.pages)/float64(rounds), who+"-pages")
		return
	}
	b.Log("the log was begun anew each time: its transactions were not counted")
}

package migrations_test

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/weir-run/weir/migrations"
)

func ExampleSQLite() {
	folder, err := migrations.SQLite()
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(folder, "0001_*.sql")
	fmt.Println(names, err)
	// Output: [0001_store.sql] <nil>
}

func TestNewest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files []string
		want  int64
		bad   bool
	}{
		{name: "none", want: 0},
		{name: "in any order", files: []string{"0002_b.sql", "0010_c.sql", "0001_a.sql"}, want: 10},
		{name: "no number", files: []string{"0001_a.sql", "notes.sql"}, bad: true},
		{name: "zero", files: []string{"0000_a.sql"}, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			folder := fstest.MapFS{}
			for _, f := range tt.files {
				folder[f] = &fstest.MapFile{}
			}
			got, err := migrations.Newest(folder)
			if (err != nil) != tt.bad || got != tt.want {
				t.Errorf("Newest = %d, %v, want %d, an error: %v", got, err, tt.want, tt.bad)
			}
		})
	}
}

// The numbers of each database are dense from 1, so that two people who add one at once collide.
func TestNumbersAreDense(t *testing.T) {
	t.Parallel()
	folder, err := migrations.SQLite()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(folder, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	newest, err := migrations.Newest(folder)
	if err != nil || newest != int64(len(names)) {
		t.Errorf("Newest = %d, %v, want %d, the number of files", newest, err, len(names))
	}
}

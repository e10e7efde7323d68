package sqlite

// Commits is how many transactions of this handle wrote something.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }

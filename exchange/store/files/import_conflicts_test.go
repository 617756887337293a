package files_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// A copy of a thread that has ended does not hide its end. The store sets the copy aside and
// logs that, with or without the thread in its log.
func TestStaleCopyIsSetAside(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ended, archived := fill(t, s.store, "a", 0, 0), fill(t, s.store, "b", 0, 0)
	s.settle()
	for _, ref := range []string{ended, archived} {
		s.copy("state=received", "copy", ref)
		s.end(ref)
	}
	s.settle()
	s.close()
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := archive.Move(root, messeaf.Place{Ref: archived, Path: "state=finished/" + archived, Folder: messeaf.Finished}); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.settle()
	s.wantThreads("state=finished/" + ended)
	for _, lost := range []bool{false, true} {
		s.close()
		if lost {
			s.loseLog()
		}
		s.log = &lines{}
		for range 2 { // before it runs, and while it runs
			for _, ref := range []string{ended, archived} {
				s.copy("copy", "state=received", ref)
			}
			if s.stop == nil {
				s.open()
			}
			for _, ref := range []string{ended, archived} {
				if th, _, err := s.store.Read(t.Context(), ref); err != nil || th.Status != mess.Completed {
					t.Errorf("%s: %s, %v", ref, th.Status, err)
				}
			}
			all := list(t, s.store)
			if len(all) != 1 || all[0].Status != mess.Completed || all[0].Ref != ended {
				t.Errorf("%+v", all)
			}
			for _, ref := range []string{ended, archived} {
				s.until("the copy is set aside", func() bool {
					_, err := os.Stat(s.path("state=received", ref))
					return errors.Is(err, fs.ErrNotExist)
				})
			}
		}
		s.settle()
		s.wantThreads("state=finished/" + ended)
		for _, ref := range []string{ended, archived} {
			if n := strings.Count(s.log.String(), "to set-aside\" ref="+ref); n != 2 {
				t.Errorf("%s was set aside %d times:\n%s", ref, n, s.log)
			}
		}
		if len(s.changed) > 0 {
			t.Errorf("offered: %+v", <-s.changed)
		}
	}
}

// For a thread in two folders, the one with the most progress is valid: another program may be
// moving the thread.
func TestThreadInTwoFolders(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	done := dropped("moved", "status: pending", "status: completed", "")
	s.write(done, "state=finished", "moved", "000-moved.messe-af.yaml")
	s.write(dropped("moved", "", "", ""), "state=received", "moved", "000-moved.messe-af.yaml")
	begun := dropped("begun", "status: pending", "status: in_progress\nexecutor: pi", "")
	s.write(begun, "state=executing", "begun", "000-begun.messe-af.yaml")
	s.write(dropped("begun", "", "", ""), "state=received", "begun", "000-begun.messe-af.yaml")
	s.until("both are known", func() bool {
		return len(list(t, s.store)) == 2
	})
	for range 2 {
		s.settle()
		for ref, want := range map[string]mess.Code{"moved": mess.Completed, "begun": mess.InProgress} {
			if th, _, err := s.store.Read(t.Context(), ref); err != nil || th.Status != want {
				t.Errorf("%s: %s, %v", ref, th.Status, err)
			}
		}
		s.close()
		s.loseLog()
		s.open()
	}
	s.settle()
	for len(s.changed) > 0 {
		if e := <-s.changed; e.Status == mess.Pending {
			t.Errorf("offered: %+v", e)
		}
	}
	s.wantThreads("state=executing/begun", "state=finished/moved")
}

// A thread with a terminal status has ended, even in the wrong state folder, because not every
// writer keeps to the folders.
func TestThreadEndedInWrongFolder(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	for _, folder := range []string{"state=received", "state=executing", "state=canceled"} {
		ref := strings.TrimPrefix(folder, "state=")
		s.write(dropped(ref, "status: pending", "status: completed", ""), folder, ref, "000-"+ref+".messe-af.yaml")
	}
	s.until("all are known", func() bool {
		return len(list(t, s.store)) == 3
	})
	for range 2 {
		s.settle()
		for _, ref := range []string{"received", "executing", "canceled"} {
			if th, _, err := s.store.Read(t.Context(), ref); err != nil || th.Status != mess.Completed {
				t.Errorf("%s: %s, %v", ref, th.Status, err)
			}
			if _, err := os.Stat(s.path("state="+ref, ref)); err != nil {
				t.Error(err)
			}
		}
		s.close()
		s.open()
	}
	if s.log.String() != "" {
		t.Errorf("log is %s, want it empty", s.log)
	}
}

// The store logs names that belong to no thread once.
func TestForeignNamesAreLoggedOnce(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	s.write(foreignThread, "state=received", "2026-02-01 NX8J.messe-af.yaml")
	s.write(foreignThread, "state=received", "2026-02-01-NX8J.mess.yaml")
	s.write("", "state=received", ".swap")
	s.until("both are logged", func() bool {
		return strings.Contains(s.log.String(), "NX8J.mess.yaml") && strings.Contains(s.log.String(), "2026-02-01 NX8J")
	})
	s.write(foreignThread, "state=received", "2026-02-01-NX8J.mess.yaml")
	s.settle()
	s.close()
	s.open()
	s.settle()
	logged := s.log.String()
	for _, once := range []string{"2026-02-01-NX8J.mess.yaml: is not a thread", "2026-02-01 NX8J.messe-af.yaml: cannot be the name of a thread"} {
		if n := strings.Count(logged, once); n != 2 { // once a start
			t.Errorf("%q is in the log %d times, want 2:\n%s", once, n, logged)
		}
	}
	if strings.Contains(logged, "swap") {
		t.Errorf("the log contains a hidden file:\n%s", logged)
	}
}

package child

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// limitSystem puts the process in a job that bounds its memory, lets it start no other process, and ends
// it with the job. The handle is never closed: it ends with the process.
func limitSystem(heap int64) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return // the watcher holds the limit then
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY | windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS |
				windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION | windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
			ActiveProcessLimit: 1,
		},
		ProcessMemoryLimit: uintptr(heap + spare),
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	_ = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
}

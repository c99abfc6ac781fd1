// The clock of leases: monotonic, the same for all processes of a machine, and it goes on while a process is stopped.
// The clock of the day is never asked, so nothing depends on how it is set.

/** Milliseconds. */
export function leaseNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

// Resident memory of another process, as Linux tells it.
import { readFileSync } from 'node:fs';

const PAGE_BYTES = 4096;

/** 0 where it is gone. */
export function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

// Keeps activity over restarts of dev, as one JSON line per record in a file of the state folder, which only its owner
// can read. Records above the limit are dropped when the file is rewritten. Opened by dev.ts.
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { ActivityKeeper, Noted } from './activity.ts';

/** Maximum size of the file. A larger file is not read, but replaced. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** How long records are collected before they are written. */
const WRITE_MS = 200;
const MODE = 0o600;

/** An open file. */
interface ActivityFile extends ActivityKeeper {
  /** Writes pending records. */
  close(): void;
}

/** @param recordsMax maximum number of records of each type; @param report receives messages for the user. */
export function openActivityFile(file: string, recordsMax: number, report: (message: string) => void): ActivityFile {
  let before = read(file, recordsMax);
  let waiting: string[] = [];
  let lines = 0;
  let timer: NodeJS.Timeout | null = null;
  let isBroken = false;

  function attempt(write: () => void): void {
    if (isBroken) return;
    try {
      write();
    } catch (error) {
      isBroken = true;
      report(`Activity is not stored for the next start: ${(error as Error).message}`);
    }
  }

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0) return;
    const text = waiting.join('');
    waiting = [];
    attempt(() => appendFileSync(file, text, { mode: MODE }));
    // The file is rewritten at twice the number of kept lines, which drops old lines.
    if (lines > 8 * recordsMax) rewrite(read(file, recordsMax));
  }

  function rewrite(records: readonly Noted[]): void {
    attempt(() => {
      writeFileSync(`${file}.unfinished`, records.map((noted) => `${JSON.stringify(noted)}\n`).join(''), {
        mode: MODE,
      });
      renameSync(`${file}.unfinished`, file);
    });
    lines = records.length;
  }

  if (before.length > 0) rewrite(before);
  return {
    get before() {
      const found = before;
      before = [];
      return found;
    },
    keep(noted) {
      waiting.push(`${JSON.stringify(noted)}\n`);
      lines++;
      timer ??= setTimeout(flush, WRITE_MS).unref();
    },
    clear() {
      waiting = [];
      lines = 0;
      attempt(() => rmSync(file, { force: true }));
    },
    close: flush,
  };
}

/**
 * The newest records of each type, in order. Malformed lines, such as the last line of a killed process, are skipped.
 */
function read(file: string, recordsMax: number): Noted[] {
  try {
    if (!existsSync(file) || statSync(file).size > FILE_BYTES_MAX) return [];
    const byType = new Map<string, Noted[]>();
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const noted = toNoted(line);
      if (noted === null) continue;
      const list = byType.get(noted.type) ?? [];
      list.push(noted);
      byType.set(noted.type, list);
    }
    return [...byType.values()]
      .flatMap((list) => list.slice(-recordsMax))
      .toSorted((one, other) => one.seq - other.seq);
  } catch {
    // The error is ignored, because the history is optional.
    return [];
  }
}

function toNoted(line: string): Noted | null {
  if (line === '') return null;
  try {
    const value = JSON.parse(line) as Partial<Noted> | null;
    const isOurs = typeof value?.seq === 'number' && typeof value.at === 'number';
    return isOurs && ['request', 'event', 'log', 'deployed'].includes(String(value.type)) ? (value as Noted) : null;
  } catch {
    return null;
  }
}

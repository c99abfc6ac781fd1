// The crash ledger in the data folder: read when the supervisor starts, replaced by a rename at every change. If the
// folder is not writable, the ledger is only lost at a restart.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ledgerText, parseLedger, type Ledger } from './ledger.ts';

const NAME = 'crash-ledger.json';

export function readLedger(folder: string): Ledger {
  try {
    return parseLedger(readFileSync(join(folder, NAME), 'utf8'));
  } catch {
    return new Map();
  }
}

/** @throws {Error} of the file system. */
export function writeLedger(folder: string, ledger: Ledger): void {
  mkdirSync(folder, { recursive: true });
  const draft = join(folder, `.${NAME}.${process.pid}`);
  writeFileSync(draft, ledgerText(ledger), { mode: 0o600 });
  renameSync(draft, join(folder, NAME));
}

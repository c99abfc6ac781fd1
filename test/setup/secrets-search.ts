// Looks for texts where secrets must not be: in what processes show of themselves, in files, and in streams of bytes.
// For tests that plant secrets, and beside them a text that has to be found everywhere.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const runProgram = promisify(execFile);
/** Bytes rather than characters. */
const ENVIRONMENT = { ...process.env, LC_ALL: 'C' };
/** Of what was found. */
const BYTES_MAX = 16 * 1024 * 1024;

/** What was found: places by the name of the text. */
type Found = Map<string, Set<string>>;

interface SecretsSearch {
  /** Where each text was found. */
  readonly found: Found;
  /** All texts, from now on. */
  add(name: string, text: string): void;
  /** In a text, or in bytes as they come. */
  bytes(place: string, bytes: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** In what `/proc` shows of every process of this machine. @param isMeant by its environment. */
  processes(place: string, file: 'cmdline' | 'environ', isMeant?: (environment: string) => boolean): Promise<void>;
  /**
   * In every file of a file system below a folder, also in disk images.
   * @param since searches what was written or moved there from then on; without it, all.
   */
  files(place: string, folder: string, since?: Date): Promise<void>;
}

export function createSecretsSearch(): SecretsSearch {
  const texts = new Map<string, string>();
  const found: Found = new Map();
  const keep = (name: string, place: string): void => {
    found.set(name, (found.get(name) ?? new Set()).add(place));
  };

  async function bytes(place: string, given: string | Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    const whole = typeof given === 'string' ? [Buffer.from(given)] : given instanceof Uint8Array ? [given] : given;
    const overlap = Math.max(...[...texts.values()].map((text) => text.length));
    let before = Buffer.alloc(0);
    for await (const chunk of whole) {
      const seen = Buffer.concat([before, chunk]);
      for (const [name, text] of texts) if (seen.includes(text)) keep(name, place);
      before = seen.subarray(Math.max(0, seen.length - overlap));
    }
  }

  return {
    found,
    add: (name, text) => void texts.set(name, text),
    bytes,
    async processes(place, file, isMeant = () => true) {
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        try {
          if (isMeant(readFileSync(`/proc/${pid}/environ`, 'latin1')))
            await bytes(place, readFileSync(`/proc/${pid}/${file}`));
        } catch {
          // Ended meanwhile.
        }
      }
    },
    async files(place, folder, since) {
      const own = mkdtempSync(path.join(tmpdir(), 'secrets-search-'));
      try {
        const patterns = path.join(own, 'texts');
        writeFileSync(patterns, [...texts.values()].join('\n'));
        // Once for all texts, and with NUL as the end of a line: what a disk does not use is not one long line.
        const grep = ['grep', '-zaohF', '-f', patterns, '--'];
        const recent = since === undefined ? [] : ['-newerct', since.toISOString()];
        const words = [folder, '-xdev', '-type', 'f', ...recent, '-exec', ...grep, '{}', '+'];
        // 1: nothing was found in some of them, or a file went while it was read.
        const { stdout } = await runProgram('find', words, { maxBuffer: BYTES_MAX, env: ENVIRONMENT }).catch(
          (error: Error & { code?: unknown; stdout?: string }) => {
            if (error.code === 1) return { stdout: error.stdout ?? '' };
            throw error;
          },
        );
        const seen = new Set(stdout.split('\0'));
        for (const [name, text] of texts) if (seen.has(text)) keep(name, place);
      } finally {
        rmSync(own, { recursive: true });
      }
    },
  };
}

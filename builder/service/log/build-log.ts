// The log of one build attempt: lines are written in batches to `control.build_log`, with the lease of its job.
// Unacknowledged lines are buffered while Postgres is unavailable. Opened by build-attempt.ts.
import type { Sql } from '#postgres/sql.ts';
import type { BuildStep, LineLevel } from '../../steps/types.ts';
import { isUnavailable } from '../jobs/postgres-errors.ts';
import { createLineReader, plainLines, type LineReader } from './lines.ts';
import type { Masks } from './masks.ts';

/** An open log. */
export interface BuildLog {
  /** Writes one or more lines of the platform. Lines of the platform do not count towards the size limit. */
  line(step: BuildStep, level: LineLevel, text: string): void;
  /** Writes output of a command. */
  output(step: BuildStep, level: LineLevel, chunk: Uint8Array): void;
  /** A text as shown in the log: with secrets masked and control characters removed. */
  shown(text: string): string;
  /** Writes an unfinished last line. */
  end(): void;
  /** Resolves when all previous lines are written, or never will be: the lease is lost, or the log was closed. */
  flush(): Promise<void>;
  /** Discards everything written from now on. */
  close(): void;
}

/** Destination and limits. */
interface BuildLogOptions {
  readonly sql: Sql;
  readonly deploymentId: string;
  readonly job: { readonly id: number; readonly lease: string };
  /** Number of the first line. */
  readonly firstSeq: number;
  readonly masks: Masks;
  readonly bytesMax: number;
  readonly lineCharsMax: number;
  /** Called when another builder has taken over the job. */
  readonly onLeaseLost: () => void;
  readonly onTrouble: (error: unknown) => void;
}

interface Row {
  readonly seq: number;
  readonly at: string;
  readonly step: BuildStep;
  readonly level: LineLevel;
  readonly text: string;
}

const BATCH_MS = 100;
const BATCH_CHARS = 64 * 1024;
const BATCH_ROWS_MAX = 2000;
/** Size of a row besides its text, so that empty lines are limited too. */
const ROW_BYTES = 64;
/** Maximum lines of the platform, in addition to the size limit. */
const OWN_LINES_MAX = 10_000;
const [AGAIN_MS_LEAST, AGAIN_MS_MAX] = [100, 2000];

export function openBuildLog(options: BuildLogOptions): BuildLog {
  const { sql, deploymentId, job, masks, lineCharsMax } = options;
  const readers = new Map<string, LineReader>();
  let seq = options.firstSeq;
  let waiting: Row[] = [];
  let waitingChars = 0;
  let bytes = 0;
  let ownLines = 0;
  let isTruncated = false;
  let isClosed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> | null = null;
  let whenEmpty: (() => void)[] = [];

  function add(step: BuildStep, level: LineLevel, text: string): void {
    if (isClosed) return;
    waiting.push({ seq: seq++, at: new Date().toISOString(), step, level, text });
    waitingChars += text.length + ROW_BYTES;
    if (waitingChars >= BATCH_CHARS && failures === 0) write();
    else timer ??= setTimeout(write, BATCH_MS);
  }

  function write(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (writing !== null || isClosed) return;
    writing = writeAll().finally(() => {
      writing = null;
      if (waiting.length === 0 || isClosed) settle();
      else timer ??= setTimeout(write, Math.min(AGAIN_MS_MAX, AGAIN_MS_LEAST * 2 ** Math.min(failures, 10)));
    });
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0 && !isClosed) {
      let chars = 0;
      let count = 0;
      while (count < waiting.length && count < BATCH_ROWS_MAX && chars < BATCH_CHARS)
        chars += waiting[count++]!.text.length + ROW_BYTES;
      const batch = waiting.slice(0, count);
      try {
        if (!(await insert(batch))) return lose();
        failures = 0;
      } catch (error) {
        if (!isUnavailable(error)) {
          // Command output must not stop its log.
          options.onTrouble(error);
          for (const [index, row] of batch.entries())
            waiting[index] = { ...row, text: row.text.replaceAll(/[^\x20-\x7e]/g, '?') };
        }
        failures++;
        return;
      }
      waiting = waiting.slice(count);
      waitingChars -= chars;
    }
  }

  /**
   * Returns false if the lease is lost. A batch is not written twice, even if its commit succeeded without a response.
   */
  async function insert(batch: readonly Row[]): Promise<boolean> {
    const [held] = await sql<{ held: number }[]>`
      WITH held AS MATERIALIZED (
        -- The deployment before its job, as everybody locks them; a row of its log would lock it anyway.
        SELECT j.id FROM (SELECT id FROM control.deployment WHERE id = ${deploymentId} FOR KEY SHARE) d
          JOIN control.job j ON j.deployment_id = d.id
        WHERE j.id = ${job.id} AND j.lease = ${job.lease} FOR SHARE OF j
      ), written AS (
        INSERT INTO control.build_log (deployment_id, seq, at, step, level, text)
        SELECT ${deploymentId}, row.seq, row.at, row.step, row.level, row.text
        FROM held, jsonb_to_recordset(${sql.json(batch as never)})
          AS row (seq bigint, at timestamptz, step text, level text, text text)
        ON CONFLICT (deployment_id, seq) DO NOTHING
      )
      SELECT count(*)::int AS held, pg_notify('control_log', ${deploymentId}) FROM held`;
    return held!.held === 1;
  }

  function lose(): void {
    close();
    options.onLeaseLost();
  }

  function settle(): void {
    const waited = whenEmpty;
    whenEmpty = [];
    for (const resolve of waited) resolve();
  }

  function close(): void {
    isClosed = true;
    waiting = [];
    if (timer !== null) clearTimeout(timer);
    timer = null;
    settle();
  }

  /** Whether a command's line is within the limit. */
  function hasRoom(chars: number): boolean {
    bytes += chars + ROW_BYTES;
    return bytes <= options.bytesMax;
  }

  function give(step: BuildStep, level: LineLevel, lines: readonly string[]): void {
    for (const text of lines) {
      if (isTruncated) return;
      if (hasRoom(Buffer.byteLength(text))) {
        add(step, level, text);
        continue;
      }
      isTruncated = true;
      readers.clear();
      add(step, 'warn', `output truncated: a build may write ${options.bytesMax} bytes to its log; it goes on`);
    }
  }

  function shown(text: string): string {
    // Masked again, since control characters can split a secret.
    return masks.apply(plainLines(masks.apply(text)));
  }

  return {
    line(step, level, text) {
      for (const line of shown(text).split('\n')) {
        if (++ownLines > OWN_LINES_MAX) return;
        add(step, level, line.slice(0, lineCharsMax).toWellFormed());
      }
    },
    shown,
    output(step, level, chunk) {
      if (isTruncated || isClosed) return;
      const name = `${step} ${level}`;
      let reader = readers.get(name);
      if (reader === undefined)
        readers.set(name, (reader = createLineReader(lineCharsMax, masks.charsMax, masks.apply)));
      give(step, level, reader.push(chunk));
    },
    end() {
      for (const [name, reader] of readers) {
        const [step, level] = name.split(' ') as [BuildStep, LineLevel];
        give(step, level, reader.end());
      }
      readers.clear();
    },
    flush() {
      if (isClosed || (waiting.length === 0 && writing === null)) return Promise.resolve();
      return new Promise((resolve) => {
        whenEmpty.push(resolve);
        if (failures === 0) write();
      });
    },
    close,
  };
}

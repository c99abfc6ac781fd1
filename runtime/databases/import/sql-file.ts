// Reads a file of SQL in pieces and splits it into statements: memory is limited by the longest statement, not by the
// file. Called by importer.ts. Runs no SQL.
import { open } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { SqlRefusal } from '#core/database-request.ts';
import { isUtf16 } from '#core/text-file.ts';
import { nextToken, statementEnd, type StatementText } from '../sqlite/sql-text.ts';

const PIECE_BYTES = 262_144;

/** Bytes read of a file, and its size. */
interface ReadSoFar {
  readonly bytes: number;
  readonly total: number;
}

/**
 * The text of a file of SQL, in pieces: UTF-8, or UTF-16 with a byte order mark, as PowerShell writes the output of a
 * program.
 *
 * @throws {SqlRefusal} for bytes that are not text.
 */
export async function* textOf(file: string): AsyncGenerator<ReadSoFar & { readonly text: string }> {
  const handle = await open(file, 'r');
  try {
    const total = (await handle.stat()).size;
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let decoder: TextDecoder | null = null;
    for (let bytes = 0; ;) {
      const { bytesRead } = await handle.read(piece, 0, PIECE_BYTES, bytes);
      const part = piece.subarray(0, bytesRead);
      decoder ??= new TextDecoder(encodingOf(part), { fatal: true });
      let text: string;
      try {
        text = decoder.decode(part, { stream: bytesRead > 0 });
      } catch {
        throw new SqlRefusal(
          'SQLITE_ERROR',
          `the file is not UTF-8 text (between bytes ${bytes} and ${bytes + bytesRead})`,
        );
      }
      bytes += bytesRead;
      yield { text, bytes, total };
      if (bytesRead === 0) return;
    }
  } finally {
    await handle.close();
  }
}

function encodingOf(beginning: Buffer): string {
  if (!isUtf16(beginning)) return 'utf-8';
  return beginning[0] === 0xff ? 'utf-16le' : 'utf-16be';
}

/** Splits streamed text into statements. */
export class StatementReader {
  readonly #charsMax: number;
  #text = '';
  /** Line where the text begins. */
  #line = 1;
  /** The text is parsed again only when it has this length. */
  #wanted = 0;

  /** @param charsMax length limit of a statement, with the comments before it */
  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  /** Line of the next statement, from 1. */
  get line(): number {
    return this.#line;
  }

  /**
   * The statements completed by this piece.
   *
   * @throws {SqlRefusal} for a statement that is too long, a NUL character, and named parameters.
   */
  *push(piece: string): Generator<StatementText> {
    if (piece.includes('\0')) throw new SqlRefusal('SQLITE_ERROR', 'SQL text must not contain a NUL character');
    this.#text += piece;
    if (this.#text.length < this.#wanted) return;
    yield* this.#cut(false);
    if (this.#text.length > this.#charsMax)
      throw new SqlRefusal('SQLITE_TOOBIG', `a statement has more than ${this.#charsMax} characters`);
    // The text is parsed again only when it is twice as long, so that parsing a long statement costs at most twice its
    // length.
    this.#wanted = Math.min(this.#charsMax, 2 * this.#text.length);
  }

  /** The statements that remain at the end of the text. @throws as {@link push} */
  *end(): Generator<StatementText> {
    yield* this.#cut(true);
  }

  *#cut(isEnd: boolean): Generator<StatementText> {
    const sql = this.#text;
    let at = 0;
    let lineAt = 0;
    try {
      for (;;) {
        const first = nextToken(sql, at);
        if (first === null) return;
        if (first.kind === ';') {
          at = first.end;
          continue;
        }
        const { end, parameters, complete } = statementEnd(sql, first);
        if (!complete && !isEnd) return;
        this.#count(sql, lineAt, first.start);
        lineAt = first.start;
        at = end;
        yield { sql: sql.slice(first.start, end), line: this.#line, parameters };
      }
    } finally {
      this.#count(sql, lineAt, at);
      this.#text = isEnd ? '' : sql.slice(at);
    }
  }

  #count(sql: string, from: number, to: number): void {
    for (let next = sql.indexOf('\n', from); next !== -1 && next < to; next = sql.indexOf('\n', next + 1)) this.#line++;
  }
}

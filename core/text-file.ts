// Decodes text files that editors of any system write: UTF-8 with or without a byte order mark, and UTF-16 with a byte
// order mark, as saved by editors and PowerShell on Windows. Used for all files of users. Pure except for the file.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Failure } from './failure.ts';

/** Whether bytes begin with a UTF-16 byte order mark. */
export function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/**
 * The text of a file's bytes, without a byte order mark.
 *
 * @param name the name of the file, for the message
 * @throws {Failure} `text_encoding` for bytes that are neither UTF-8 nor UTF-16 with a byte order mark.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  const label = !isUtf16(bytes) ? 'utf-8' : bytes[0] === 0xff ? 'utf-16le' : 'utf-16be';
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    throw new Failure(
      'text_encoding',
      `${name} is text neither in UTF-8 nor in UTF-16 with a byte order mark: save it as UTF-8`,
    );
  }
}

/** {@link decodeText} of a file. @throws as `readFileSync` does, and a failure `text_encoding`. */
export function readTextSync(file: string): string {
  return decodeText(readFileSync(file), file);
}

/** {@link decodeText} of a file. @throws as `readFile` does, and a failure `text_encoding`. */
export async function readText(file: string): Promise<string> {
  return decodeText(await readFile(file), file);
}

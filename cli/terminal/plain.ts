// Sanitizes untrusted text for the terminal, such as build output and API messages. Control characters are removed,
// except colours.
/* oxlint-disable no-control-regex -- matches control characters */

/** Escape sequences: those that start with ESC [, ESC ], and others. */
const SEQUENCE =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~]?)|\u009b[0-?]*[ -/]*[@-~]/g;
const COLOUR = /^\u001b\[[\d;:]*m$/;
/** Control and bidi characters, and line separators U+2028 and U+2029; without tab and line feed. */
export const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Removes characters that could move the cursor, change the terminal, or reorder a line.
 *
 * @param keepsColours whether colours stay, as on a terminal; appends a reset if the text does not end with one.
 * @example plain('\u001b[2Jbad\u0007', false) // 'bad'
 */
export function plain(text: string, keepsColours = false): string {
  let isColoured = false;
  const kept = text.replace(SEQUENCE, (sequence) => {
    if (!keepsColours || !COLOUR.test(sequence)) return '';
    isColoured = !/^\u001b\[0*m$/.test(sequence);
    return sequence;
  });
  const clean = kept
    .replaceAll('\r\n', '\n')
    .replace(CONTROL, (sign) => (keepsColours && sign === '\u001b' ? sign : ''));
  return isColoured ? `${clean}\u001b[0m` : clean;
}

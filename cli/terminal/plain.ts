// Text of others on the user's terminal: what builds print, what an API says. A terminal obeys control characters, so
// only those pass that change nothing but colours.
/* oxlint-disable no-control-regex -- control characters are what it is about */

/** Escape sequences of terminals: those that begin with ESC [, ESC ], and the others. */
const SEQUENCE =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~]?)|\u009b[0-?]*[ -/]*[@-~]/g;
const COLOUR = /^\u001b\[[\d;:]*m$/;
/** A terminal obeys them or reorders text by them; some break lines at U+2028 and U+2029. Not tab and line feed. */
export const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * The text without what could move the cursor, change the terminal, or show a line in another order.
 *
 * @param keepsColours true where it goes to a terminal; a reset is added when the text leaves a colour on.
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

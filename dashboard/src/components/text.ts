// Numbers and words of the API as text, the same everywhere: thousands apart, whatever the language of the browser.

const LOCALE = 'en-GB';

/** @example countText(1234567) // '1,234,567' */
export function countText(value: number): string {
  return value.toLocaleString(LOCALE);
}

/** For where there is little room. @example shortCountText(1234567) // '1.2M' */
export function shortCountText(value: number): string {
  return Math.round(value).toLocaleString(LOCALE, { notation: 'compact' });
}

/** A word of the API at the start of a sentence. @example sentenceText('dead_letter') // 'Dead letter' */
export function sentenceText(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1).replaceAll(/[-_]/g, ' ')}`;
}

// Formats numbers and enum values, independently of the browser's language.

const LOCALE = 'en-GB';

/** @example countText(1234567) // '1,234,567' */
export function countText(value: number): string {
  return value.toLocaleString(LOCALE);
}

/** Short form. @example shortCountText(1234567) // '1.2M' */
export function shortCountText(value: number): string {
  return Math.round(value).toLocaleString(LOCALE, { notation: 'compact' });
}

/** Labels of an axis of counts: only whole numbers. @example wholeText(0.5) // '' */
export function wholeText(value: number): string {
  return Number.isInteger(value) ? shortCountText(value) : '';
}

/** An enum value as a label. @example sentenceText('dead_letter') // 'Dead letter' */
export function sentenceText(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1).replaceAll(/[-_]/g, ' ')}`;
}

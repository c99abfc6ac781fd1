// Conditions and ranges, in the same way for all stores of files. Pure.
import type { FileCondition, FileHead, FileRange } from '../engine/bindings/files.ts';

/** Whether the existing file meets a condition; null means that there is no file. */
export function holds(condition: FileCondition | null, head: FileHead | null): boolean {
  if (condition === null) return true;
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = condition;
  const matches = (tags: readonly string[]): boolean =>
    head !== null && (tags.includes('*') || tags.includes(head.etag));
  if (etagMatches !== undefined && !matches(etagMatches)) return false;
  if (etagDoesNotMatch !== undefined && matches(etagDoesNotMatch)) return false;
  if (uploadedBefore !== undefined && (head === null || head.uploadedAt >= uploadedBefore)) return false;
  return uploadedAfter === undefined || (head !== null && head.uploadedAt > uploadedAfter);
}

/** The bytes of a range in a file of this size; null when the range begins after the end. */
export function resolveRange(range: FileRange | null, size: number): { offset: number; length: number } | null {
  if (range === null) return { offset: 0, length: size };
  if ('suffix' in range) return { offset: Math.max(0, size - range.suffix), length: Math.min(size, range.suffix) };
  if (range.offset >= size && size > 0) return null;
  return {
    offset: Math.min(range.offset, size),
    length: Math.min(range.length ?? size, Math.max(0, size - range.offset)),
  };
}

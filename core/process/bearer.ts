// Checks the token (`authorization: Bearer <token>`) at ports for programs of this machine.
import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares digests in constant time, so that neither the token's characters nor its length can be measured. */
export function createBearerCheck(token: string): (authorization: string | null | undefined) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (authorization) => {
    const [, given] = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), expected);
  };
}

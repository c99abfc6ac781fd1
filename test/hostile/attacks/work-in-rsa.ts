// Private operations with a key of 4096 bits, as many at a time as are begun in a turn: a few milliseconds each, of
// whichever thread does them.
import { spinner, hostWorkAnswers } from '#test/setup/hostile.ts';

export default spinner(
  `for (;;) { const all = []; for (let i = 0; i < 64; i++) all.push(new Promise((resolve, reject) => sign('sha256', Buffer.from('x'), key, (error, bytes) => error ? reject(error) : resolve(bytes)))); await Promise.all(all); for (let i = 0; i < 64; i++) privateDecrypt(key, sealed); }`,
  `import { generateKeyPairSync, privateDecrypt, publicEncrypt, sign } from 'node:crypto'; import { Buffer } from 'node:buffer';
   const { privateKey: key, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 }); const sealed = publicEncrypt(publicKey, Buffer.from('x'));`,
  hostWorkAnswers,
);

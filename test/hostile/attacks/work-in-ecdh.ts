// Elliptic curves, of which Node has no asynchronous form: the slowest one that OpenSSL knows.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `const { createECDH } = await import('node:crypto'); const [one, other] = [createECDH('sect571r1'), createECDH('sect571r1')]; one.generateKeys(); const key = other.generateKeys(); for (;;) one.computeSecret(key);`,
);

// Numbers of a hundred thousand digits.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`let n = 3n; for (;;) n = (n * n) % (2n ** 200_000n - 1n);`);

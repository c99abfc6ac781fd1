// A built-in that walks a long way: Array.from of a length.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`for (;;) Array.from({ length: 1e6 }, (_, i) => i);`);

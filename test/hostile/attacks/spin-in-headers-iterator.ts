// The iterator of what Headers are made from.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response('x', { headers: { [Symbol.iterator]() { for (;;); } } });`);

// A regular expression that backtracks without end.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response(String(/^(a+)+$/.test('a'.repeat(60) + 'b')));`);

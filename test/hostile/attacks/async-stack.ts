// The callers of an async function, by name.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const deep = async () => { await null; return deep.caller ?? arguments.callee?.caller ?? 'nothing'; }; let got; try { got = String(await deep()); } catch (error) { got = error.name; } return new Response(got);`,
  ),
  attack: ({ get }) => get(),
  expect: ['200 TypeError', '200 nothing'],
} satisfies Attack;

// A statement that counts for minutes, two requests at a time: it burns in the database service, on the account of who
// asked. A neighbour's database answers beside it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  yaml: 'db: { DB: rows }\n',
  worker: {
    attacker: attacker(
      `const row = await env.DB.prepare('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000000) SELECT count(*) AS c FROM n').first(); return new Response('counted ' + row.c);`,
    ),
    neighbour: attacker(`return new Response(String((await env.DB.prepare('SELECT 1 AS one').first()).one));`),
  },
  async attack({ flood }) {
    const options = { clients: 2, ms: 2500 };
    const answers = await Promise.all([
      flood('/attack', options),
      flood('/attack', { ...options, project: 'neighbour' }),
    ]);
    return answers.join(' and ');
  },
  expect: '500 cpu_limit_exceeded and 200 1',
} satisfies Attack;

// Tables of vectors by somebody who means no good: dimensions that are too many or other ones, NaN, a search without a
// bound or with a huge one, ten million rows in one statement, chunks of any size. Each ends as an error or at a
// budget, and a neighbour's database answers beside it.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  yaml: 'db: { DB: vectors }\n',
  worker: {
    attacker: attacker(
      `const run = (sql, ...values) => env.DB.prepare(sql).bind(...values).all();
      const failed = async (sql, ...values) => { try { await run(sql, ...values); return 'done'; } catch ({ code }) { return code === 'cpu_limit_exceeded' ? 'budget' : 'refused'; } };
      await run('CREATE VIRTUAL TABLE IF NOT EXISTS v USING vec0(e float[4])');
      if (url.searchParams.has('rows')) return new Response(await failed("INSERT INTO v (rowid, e) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) SELECT i, '[1,2,3,4]' FROM n"));
      await run("INSERT OR REPLACE INTO v (rowid, e) VALUES (1, '[1,2,3,4]')").catch(() => {});
      const answers = {
        wide: await failed('CREATE VIRTUAL TABLE w USING vec0(e float[1000000000])'),
        none: await failed('CREATE VIRTUAL TABLE w USING vec0(e float[0])'),
        negative: await failed('CREATE VIRTUAL TABLE w USING vec0(e float[-4])'),
        chunks: await failed('CREATE VIRTUAL TABLE IF NOT EXISTS b USING vec0(e float[8192], chunk_size=4096)').then(() => failed('INSERT INTO b (rowid, e) VALUES (1, ?)', new Float32Array(8192).buffer)),
        columns: await failed('CREATE VIRTUAL TABLE w USING vec0(' + Array.from({ length: 100 }, (_, at) => 'e' + at + ' float[4]').join() + ')'),
        longer: await failed("INSERT INTO v (rowid, e) VALUES (2, '[1,2,3,4,5]')"),
        nan: await failed('INSERT INTO v (rowid, e) VALUES (3, ?)', new Float32Array([1, NaN, 3, 4]).buffer),
        infinite: await failed('INSERT INTO v (rowid, e) VALUES (4, ?)', new Float32Array([1, Infinity, 3, 4]).buffer),
        text: await failed('INSERT INTO v (rowid, e) VALUES (5, ?)', '['.repeat(100000)),
        unbound: await failed("SELECT rowid FROM v WHERE e MATCH '[1,2,3,4]'"),
        huge: await failed("SELECT rowid FROM v WHERE e MATCH '[1,2,3,4]' AND k = 1000000000"),
        minus: await failed("SELECT rowid FROM v WHERE e MATCH '[1,2,3,4]' AND k = -1"),
        other: await failed("SELECT rowid FROM v WHERE e MATCH '[1,2]' AND k = 1"),
        shadow: await failed("DELETE FROM v_vector_chunks00"),
      };
      const done = Object.entries(answers).filter(([, answer]) => answer === 'done').map(([name]) => name);
      return new Response(done.length === 0 ? 'refused' : done.join());`,
    ),
    neighbour: attacker(`return new Response(String((await env.DB.prepare('SELECT 1 AS one').first()).one));`),
  },
  async attack({ get, flood }) {
    const answers = await Promise.all([
      get('/attack?rows', { waitMs: 40_000 }),
      flood('/attack', { clients: 1, ms: 1500, project: 'neighbour' }),
    ]);
    return [await get(), ...answers].join(' and ');
  },
  expect: ['200 refused and 500 cpu_limit_exceeded and 200 1', '200 refused and 200 budget and 200 1'],
} satisfies Attack;

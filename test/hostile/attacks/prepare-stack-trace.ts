// Error.prepareStackTrace, which is given the functions and receivers of the frames below.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'escape',
  worker: attacker(
    `const found = []; Error.prepareStackTrace = (error, sites) => { for (const site of sites) { for (const name of ['getThis', 'getFunction', 'getEvalOrigin']) { let got; try { got = site[name](); } catch { continue; } if (got !== undefined && got !== null && got !== globalThis && typeof got !== 'string' && !String(got).includes('fetch') && typeof got === 'function' && /platform:/.test(site.getFileName() ?? '')) found.push(name); } } return sites; }; Error.stackTraceLimit = Infinity; new Error('x').stack; try { null.x; } catch (error) { void error.stack; } try { await fetch('http://169.254.169.254/'); } catch (error) { void error.stack; } return new Response('found ' + found.join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 found',
} satisfies Attack;

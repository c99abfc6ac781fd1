// The style of the page that shows an API description. After a change, run `node cli/run.mjs :openapi`.

export const style = `
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --fill: #f6f8fa;
  --accent: #0550ae; --get: #0550ae; --post: #116329; --put: #7d4e00; --delete: #a40e26; }
@media (prefers-color-scheme: dark) { :root { --back: #151515; --text: #e6e6e6; --soft: #a5a5a5; --line: #3a3a3a;
  --fill: #1f1f1f; --accent: #6cb6ff; --get: #6cb6ff; --post: #6bc46d; --put: #daaa3f; --delete: #ff938a; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 0 auto; max-width: 76rem;
  padding: 0 1rem 4rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
h1 { font-size: 1.5rem; margin: 1.5rem 0 .25rem; }
h1 small, .soft { font-weight: normal; color: var(--soft); }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
h3 { font-size: .95rem; margin: 1rem 0 .3rem; }
p { margin: .3rem 0; }
.bar { position: sticky; top: 0; z-index: 1; background: var(--back); padding: .7rem 0; display: flex; gap: 1rem;
  flex-wrap: wrap; align-items: end; border-bottom: 1px solid var(--line); }
.bar label { display: grid; flex: 1 1 14rem; font-size: 13px; }
.columns { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 2rem; }
nav { position: sticky; top: 5.5rem; align-self: start; max-height: calc(100vh - 6rem); overflow: auto; padding: 1rem 0; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: flex; justify-content: space-between; padding: .15rem .5rem .15rem .1rem; text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { padding-top: 1.2rem; scroll-margin-top: 5rem; }
.operation { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; scroll-margin-top: 6rem; }
summary { cursor: pointer; }
.operation > summary { padding: .5rem .7rem; display: flex; gap: .2rem .7rem; align-items: baseline; flex-wrap: wrap; }
.operation b { font: bold 12px ui-monospace, monospace; min-width: 3.6rem; color: var(--put); }
.operation b.GET { color: var(--get); }
.operation b.POST { color: var(--post); }
.operation b.DELETE { color: var(--delete); }
.operation code { font-size: 14px; overflow-wrap: anywhere; }
.deprecated code { text-decoration: line-through; }
.inside { padding: .2rem .9rem .9rem; border-top: 1px solid var(--line); display: grid; gap: 0 1.5rem;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.inside > .whole { grid-column: 1 / -1; }
pre, textarea, input, select { font: 13px/1.45 ui-monospace, monospace; color: inherit; }
pre { overflow: auto; max-height: 24rem; margin: .3rem 0; background: var(--fill); padding: .6rem; border-radius: 6px; }
input, textarea, select { width: 100%; padding: .3rem .5rem; background: var(--back); border: 1px solid var(--soft);
  border-radius: 6px; }
textarea { min-height: 7rem; }
.field { display: block; margin: .5rem 0; font-size: 14px; }
button { font: inherit; font-size: 14px; padding: .25rem .8rem; color: inherit; background: var(--fill);
  border: 1px solid var(--soft); border-radius: 6px; cursor: pointer; }
button[type=submit] { background: var(--accent); border-color: var(--accent); color: var(--back); }
button[aria-pressed=true] { border-color: var(--accent); color: var(--accent); }
.buttons { display: flex; gap: .4rem; margin: .6rem 0 .3rem; flex-wrap: wrap; }
@media (max-width: 50rem) {
  .columns, .inside { grid-template-columns: minmax(0, 1fr); }
  nav { display: none; }
  .bar { position: static; }
}
`;

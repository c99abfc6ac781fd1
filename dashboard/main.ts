// The dashboard of `platform dev` in the browser: its frame, the list of what there is, and the view that the address
// names.
import { get } from './api.ts';
import { badge } from './components/display.ts';
import { element, fill } from './components/element.ts';
import { followActivity } from './activity.ts';
import { cacheView } from './views/cache.ts';
import { configurationView } from './views/configuration.ts';
import { cronView } from './views/cron.ts';
import { databaseView } from './views/database.ts';
import { filesView } from './views/files.ts';
import { logsView, requestsView } from './views/activity.ts';
import { queueView } from './views/queue.ts';
import { stateView } from './views/state.ts';
import { timersView } from './views/timers.ts';
import { usersView } from './views/users.ts';
import type { Configuration, View } from './views/view.ts';
import { workflowView } from './views/workflow.ts';

const general: Readonly<Record<string, readonly [title: string, view: View]>> = {
  requests: ['Requests', requestsView],
  logs: ['Logs', logsView],
  configuration: ['Configuration', configurationView],
};

/** Kinds of bindings with a view: heading, and the view of one binding. */
const kinds: Readonly<Record<string, readonly [title: string, view: View]>> = {
  db: ['Databases', databaseView],
  queue: ['Queues', queueView],
  workflow: ['Workflows', workflowView],
  state: ['State', stateView],
  fs: ['Files', filesView],
  cache: ['Cache', cacheView],
  timer: ['Timers', timersView],
  cron: ['Schedules', cronView],
  auth: ['Users', usersView],
};

const state = element('span', { class: 'state', role: 'status' });
const project = element('h1', {}, 'Dashboard');
const address = element('a', { target: '_blank', rel: 'noreferrer' });
const navigation = element('nav', { 'aria-label': 'Parts of the project' });
const main = element('main', { id: 'main', tabindex: -1 });
document.body.append(
  element(
    'a',
    { class: 'skip', href: '#main', onclick: (event: Event) => (event.preventDefault(), main.focus()) },
    'Skip to the content',
  ),
  element('header', {}, project, address, state),
  navigation,
  main,
);

let leave = new AbortController();
let drawn = '';
const activity = followActivity((isOpen) =>
  fill(state, isOpen ? badge('live', 'good') : badge('not reachable', 'bad')),
);

function links(configuration: Configuration): [heading: string, links: [path: string, label: string][]][] {
  const bindings = configuration.bindings ?? {};
  const groups: [string, [string, string][]][] = [
    ['Project', Object.entries(general).map(([name, [title]]) => [name, title])],
  ];
  for (const [kind, [title]] of Object.entries(kinds)) {
    const names =
      kind === 'cron'
        ? Object.keys(configuration.cron ?? {}).length > 0
          ? ['all']
          : []
        : Object.keys(bindings[kind] ?? {});
    if (names.length > 0)
      groups.push([title, names.map((name) => [`${kind}/${encodeURIComponent(name)}`, name === 'all' ? title : name])]);
  }
  return groups;
}

function show(configuration: Configuration): void {
  document.title = `${configuration.name} · Dashboard`;
  fill(project, configuration.name);
  address.href = configuration.url;
  fill(address, configuration.url);
  const [kind = '', name = ''] = location.hash.replace(/^#\/?/, '').split('/');
  const chosen = `${kind}${name === '' ? '' : `/${name}`}` || 'requests';
  fill(
    navigation,
    links(configuration).map(([heading, list]) => [
      element('h2', {}, heading),
      element(
        'ul',
        {},
        list.map(([path, label]) =>
          element('li', {}, element('a', { href: `#/${path}`, 'aria-current': path === chosen && 'page' }, label)),
        ),
      ),
    ]),
  );
  // A view stays while its project is built anew: it follows by itself.
  const key = chosen;
  if (key === drawn) return;
  const isFirst = drawn === '';
  drawn = key;
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const [title, view] = general[chosen] ?? kinds[kind] ?? (['There is no such page', null] as const);
  const binding = decodeURIComponent(name);
  fill(main, element('h2', {}, binding === '' || binding === 'all' ? title : `${title}: ${binding}`));
  view?.({ root: main, binding, signal, activity, onChange: (listener) => activity.listen(() => listener(), signal) });
  if (!isFirst) main.focus();
}

async function reload(): Promise<void> {
  try {
    show(await get<Configuration>('/api/config'));
  } catch {
    // The connection's state says so already.
  }
}

window.addEventListener('hashchange', () => void reload());
activity.listen((event) => {
  if (event.type === 'deployed') void reload();
});
void reload();

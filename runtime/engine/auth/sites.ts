// Open sign-in sites, used by users.ts. Opening a site takes 13 ms of the engine's main thread, and each port in a
// client's host creates another site. So a project can open only a few sites at a time, and keeps only a few open.

/** A project can open this many sites at once, then one per interval (ms). */
const [opensAtOnce, openMs] = [8, 2000];
const SITES_OF_ONE_MAX = 8;
const PROJECTS_MAX = 200;
/** Maximum number of sites whose port no client chose; there are at most as many as routed hosts. */
const PLAIN_MAX = 500;

interface Project<Site> {
  readonly sites: Map<string, Site>;
  opens: number;
  at: number;
}

/** Open sites by project; the most recently used stay. */
export class Sites<Site> {
  readonly #plain = new Map<string, Site>();
  readonly #projects = new Map<string, Project<Site>>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Returns a site, whose key includes its project. @param isChosen whether a client chose its port. @returns null if
   * the project has opened too many such sites.
   */
  get(project: string, key: string, isChosen: boolean, open: () => Site): Site | null {
    if (!isChosen) {
      const known = this.#plain.get(key) ?? open();
      this.#plain.delete(key);
      this.#plain.set(key, known);
      dropOldest(this.#plain, PLAIN_MAX);
      return known;
    }
    const found = this.#projectOf(project);
    let site = found.sites.get(key);
    if (site === undefined) {
      const now = this.#now();
      found.opens = Math.min(opensAtOnce, found.opens + (now - found.at) / openMs);
      found.at = now;
      if (found.opens < 1) return null;
      found.opens--;
      site = open();
    } else found.sites.delete(key);
    found.sites.set(key, site);
    dropOldest(found.sites, SITES_OF_ONE_MAX);
    return site;
  }

  forget(project: string, key: string): void {
    this.#plain.delete(key);
    this.#projects.get(project)?.sites.delete(key);
  }

  #projectOf(name: string): Project<Site> {
    const found = this.#projects.get(name) ?? { sites: new Map(), opens: opensAtOnce, at: this.#now() };
    this.#projects.delete(name);
    this.#projects.set(name, found);
    dropOldest(this.#projects, PROJECTS_MAX);
    return found;
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) for (const oldest of map.keys()) if (map.delete(oldest)) break;
}

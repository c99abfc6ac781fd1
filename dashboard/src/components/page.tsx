// Layout of every page: heading, actions, sections.
import { createContext, use, useEffect, type ReactNode } from 'react';
import { joined } from './class-names.ts';
import styles from './page.module.css';

/** Name of the page's project, for the title of the tab; null for pages without a project. */
export const ProjectName = createContext<string | null>(null);

interface PageProps {
  /** Title of the page and, with the project's name, of the browser's tab: "Logs, shop – platform". */
  readonly title: string;
  /** Content of the heading, in place of the title. */
  readonly heading?: ReactNode;
  readonly description?: ReactNode;
  /** Buttons; at most one of them primary. */
  readonly actions?: ReactNode;
  /** Whether the page has the full width, for logs and editors. */
  readonly isWide?: boolean;
  /** The page is as high as the window and has one list that scrolls: `VirtualList` without a height. Not on phones. */
  readonly isFull?: boolean;
  readonly children: ReactNode;
}

/** @example <Page title="Deployments" actions={<Button>Deploy</Button>}>...</Page> */
export function Page({ title, heading, description, actions, isWide = false, isFull = false, children }: PageProps) {
  const project = use(ProjectName);
  useEffect(() => {
    document.title = `${project === null ? title : `${title}, ${project}`} – platform`;
  }, [title, project]);
  return (
    <div className={joined(styles.page, isWide && styles.wide, isFull && styles.full)}>
      <div className={styles.head}>
        <div className={styles.words}>
          <h1>{heading ?? title}</h1>
          {description !== undefined && <p>{description}</p>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A section with a heading. */
export function Section({ title, actions, children }: SectionProps) {
  return (
    <section className={styles.section} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {children}
    </section>
  );
}

/** A list of names and values. Null values are omitted. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface FiltersProps {
  /** Accessible name, for pages with several lists of facts. */
  readonly label?: string;
  readonly children: ReactNode;
}

/** Filter fields of a list; their values are kept in the URL. */
export function Filters({ label, children }: FiltersProps) {
  return (
    <div className={styles.filters} role="search" aria-label={label}>
      {children}
    </div>
  );
}

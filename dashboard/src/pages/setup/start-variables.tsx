// The variables that an operator adds for a domain and HTTPS, and where to add them. The processes that serve projects
// read these variables when they start, so the page cannot set them.
import { CodeBlock } from '../../components/code-block.tsx';
import styles from '../settings/settings.module.css';

/** @param domain of projects, such as `apps.example.com`. */
export function StartVariables({ domain }: { readonly domain: string }) {
  // Dashboard and API have hosts next to the domain of projects, because a host below it could be the name of a
  // project.
  const parent = domain.split('.').length > 2 ? domain.slice(domain.indexOf('.') + 1) : domain;
  const lines = [
    `HANDLER_DOMAIN=${domain}`,
    `AUTH_URL=https://dashboard.${parent}`,
    `PUBLIC_API_URL=https://api.${parent}`,
    'PUBLIC_HTTPS=on',
  ];
  return (
    <>
      <p className={styles.soft}>
        1. Create the same DNS records for dashboard.{parent} and api.{parent}.
      </p>
      <p className={styles.soft}>
        2. Add these lines to the platform's variables. After install.sh they are in /etc/platform/platform.env, or in
        ~/.platform/platform.env without root; with Docker Compose in .env. With your own proxy for HTTPS, use
        PUBLIC_PROTOCOL=https instead of the last line.
      </p>
      <CodeBlock code={lines.join('\n')} />
      <p className={styles.soft}>
        3. Restart the platform: systemctl restart platform, or docker compose --profile https up -d. Then open
        https://dashboard.{parent}/setup.
      </p>
    </>
  );
}

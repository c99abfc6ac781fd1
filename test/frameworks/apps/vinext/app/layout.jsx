import './globals.css';

export const metadata = { title: 'Next', icons: '/favicon.svg' };

export default function RootLayout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}

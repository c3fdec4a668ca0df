/** Styles are bundled beside the script that imports them. */
declare module '*.css';

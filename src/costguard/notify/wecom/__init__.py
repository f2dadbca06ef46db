"""WeCom (企业微信): the group robot and its markdown."""

"""DingTalk (钉钉): the group robot and its markdown."""
